# SPDX-License-Identifier: Apache-2.0
"""Tables and pages: text in a terminal, HTML in a notebook."""
import html
import pathlib


def text_of(cell):
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


class Table:
    """Rows of named columns. Each row is a dict."""

    def __init__(self, columns, rows, caption=""):
        self.columns, self.rows, self.caption = list(columns), list(rows), caption

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, index):
        return [row[index] for row in self.rows] if isinstance(index, str) else self.rows[index]

    def __repr__(self):
        lines = [self.columns] + [[text_of(row.get(column)) for column in self.columns] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([self.caption] * bool(self.caption) + text)

    def _repr_html_(self):
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(text_of(row.get(column)))}</td>" for column in self.columns) + "</tr>" for row in self.rows)
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        return f"<p>{html.escape(self.caption)}</p><table><tr>{head}</tr>{cells}</table>"


class Explanation(Table):
    """The rung that a call takes, why others are not taken, and the bound of the result's rounding error."""

    def __init__(self, choice):
        rows = [{"rung": f"{rung['place']:02} {rung['variant']}", "taken": "yes" if rung["taken"] else "",
                 "why": rung["cannot"] or rung["slower"] or ("" if rung["taken"] else "a lower rung"), "idea": rung["idea"]} for rung in choice["rungs"]]
        self.choice, self.variant, self.device, self.bound = choice, choice["variant"], choice["device"], choice["bound"]
        bound = f"; rounding moves an element of the first row by {self.bound:.3g} at most" if self.bound is not None else ""
        super().__init__(["rung", "taken", "why", "idea"], rows, f"{self.variant} on {self.device}: {choice['idea']}{bound}")


class Page:
    """An HTML page: shown in a notebook, saved elsewhere."""

    def __init__(self, text):
        self.html = text

    def save(self, path):
        pathlib.Path(path).write_text(self.html, encoding="utf-8")
        return path

    def __repr__(self):
        return f"<a page of {len(self.html)} characters; .save(path) writes it>"

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" style="border:0"></iframe>'
