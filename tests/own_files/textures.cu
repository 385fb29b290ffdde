// SPDX-License-Identifier: Apache-2.0
// Textures of an array and of linear memory, a texture reference, a surface and layers.
#include <cstdio>
#include <cstring>

const int W = 4, H = 2;
texture<float> reference;

__global__ void sample(cudaTextureObject_t t, float* out, float x, float y) { *out = tex2D<float>(t, x, y); }
__global__ void fetch(cudaTextureObject_t t, uchar4* out) {
  out[threadIdx.x] = tex1Dfetch<uchar4>(t, int(threadIdx.x) - 1);
}
__global__ void of_reference(float* out) { out[threadIdx.x] = tex1Dfetch(reference, threadIdx.x); }
__global__ void write(cudaSurfaceObject_t s) {
  float old;
  surf2Dread(&old, s, threadIdx.x * sizeof(float), threadIdx.y);
  surf2Dwrite(old + 100, s, threadIdx.x * sizeof(float), threadIdx.y);
}
__global__ void layer(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(t, 0.5f, 0.5f, threadIdx.x);
}

float* d;
void show(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode address, bool normalized,
          float x, float y) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = address;
  how.filterMode = filter;
  how.normalizedCoords = normalized;
  how.borderColor[0] = -1;
  cudaTextureObject_t t = 0;
  cudaCreateTextureObject(&t, &resource, &how, nullptr);
  sample<<<1, 1>>>(t, d, x, y);
  float h;
  cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g ", h);
  cudaDestroyTextureObject(t);
}

int main() {
  float h[W * H];
  for (int i = 0; i < W * H; ++i) h[i] = float(i * i);  // 0 1 4 9 / 16 25 36 49
  cudaMalloc(&d, sizeof h);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, W, H, cudaArraySurfaceLoadStore);
  cudaMemcpy2DToArray(array, 0, 0, h, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice);
  show(array, cudaFilterModePoint, cudaAddressModeClamp, false, 2.9f, 1.2f);  // 36
  show(array, cudaFilterModePoint, cudaAddressModeClamp, false, 9, -3);       // 9
  show(array, cudaFilterModePoint, cudaAddressModeBorder, false, 4, 0);       // -1
  show(array, cudaFilterModePoint, cudaAddressModeWrap, true, 1.3f, 0);       // 1
  show(array, cudaFilterModePoint, cudaAddressModeMirror, true, 1.1f, 0);     // 9
  show(array, cudaFilterModeLinear, cudaAddressModeClamp, false, 2, 1);       // (1 + 4 + 25 + 36) / 4
  show(array, cudaFilterModeLinear, cudaAddressModeWrap, true, 0, 0.25f);     // (9 + 0) / 2
  show(array, cudaFilterModeLinear, cudaAddressModeBorder, false, 0, 0.5f);   // (-1 + 0) / 2
  puts("");

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  write<<<1, dim3(W, H)>>>(surface);
  cudaDestroySurfaceObject(surface);
  float back[W * H];
  cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost);
  printf("%g %g\n", back[0], back[7]);
  cudaFreeArray(array);

  uchar4 *bytes, few[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}}, got[4];
  cudaMalloc(&bytes, sizeof few);
  cudaMemcpy(bytes, few, sizeof few, cudaMemcpyHostToDevice);
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = bytes;
  resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.linear.sizeInBytes = sizeof few;
  cudaTextureDesc plain = {};
  cudaTextureObject_t linear;
  cudaCreateTextureObject(&linear, &resource, &plain, nullptr);
  fetch<<<1, 4>>>(linear, (uchar4*)d);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", got[0].x, got[1].x, got[3].w);
  plain.filterMode = cudaFilterModeLinear;
  printf("%s\n", cudaGetErrorName(cudaCreateTextureObject(&linear, &resource, &plain, nullptr)));
  cudaFree(bytes);

  float* in;
  cudaMalloc(&in, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  cudaBindTexture(nullptr, reference, in, sizeof h);
  of_reference<<<1, W * H>>>(d);
  cudaUnbindTexture(reference);
  cudaMemcpy(back, d, sizeof back, cudaMemcpyDeviceToHost);
  printf("%d\n", memcmp(back, h, sizeof h));
  cudaFree(in);

  cudaArray_t layers;
  cudaMalloc3DArray(&layers, &format, make_cudaExtent(2, 2, 2), cudaArrayLayered);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(h, 2 * sizeof(float), 2, 2);
  copy.dstArray = layers;
  copy.extent = make_cudaExtent(2, 2, 2);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = layers;
  plain = {};
  cudaCreateTextureObject(&linear, &resource, &plain, nullptr);
  layer<<<1, 2>>>(linear, d);
  cudaMemcpy(back, d, 2 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g %g\n", back[0], back[1]);
  cudaFreeArray(layers);
  cudaFree(d);
  return cudaGetLastError() == cudaErrorInvalidValue ? 0 : 1;
}
