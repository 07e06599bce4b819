// Kernels for the tests of the runtime. The objects beside this file were made with clang 22:
//   clang -g -gdwarf-5 -fdebug-compilation-dir=. -x cl -cl-std=CL2.0 -nogpulib -target amdgcn-amd-amdhsa
//     -mcode-object-version=5 -O2 -mcpu=gfx942 device.cl -o device.gfx942.hsaco     (and gfx950)

#define ID (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())

__attribute__((visibility("protected"))) global int counter = 7;
global int* global counter_address = &counter;  // a relocation

struct triple {
    char small;
    int middle;
    long large;
};

kernel void add(global const float* a, global const float* b, global float* out, int n) {
    unsigned i = ID;
    if (i < n)
        out[i] = a[i] + b[i];
}

// What the runtime filled in: the launch's shape, from the hidden arguments.
kernel void shape(global int* out, int stride) {
    constant int* counts = __builtin_amdgcn_implicitarg_ptr();
    constant short* sizes = __builtin_amdgcn_implicitarg_ptr();
    for (int i = 0; i < 3; ++i)
        out[i] = counts[i];
    for (int i = 0; i < 3; ++i)
        out[3 + i] = sizes[6 + i];
    for (int i = 0; i < 3; ++i)
        out[6 + i] = sizes[9 + i];
    out[9] = stride;
}

kernel void values(global long* out, struct triple t, char c, short s, long l, float f, double d) {
    out[0] = t.small;
    out[1] = t.middle;
    out[2] = t.large;
    out[3] = c;
    out[4] = s;
    out[5] = l;
    out[6] = (long)(f * 100);
    out[7] = (long)(d * 100);
}

kernel void count(global int* out) {
    *counter_address += 1;
    out[0] = counter;
}

kernel void store_at(long address, int value) {
    *(global int*)address = value;
}

kernel void trap(int when) {
    if (when)
        __builtin_trap();
}

kernel void exchange(global int* out, local int* shared) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    shared[lane] = lane * 3;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[lane] = shared[lane ^ 1];
}
