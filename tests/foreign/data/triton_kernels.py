# ruff: noqa
"""The Triton kernels behind triton/*.hsaco: read them for the arithmetic and the order of arguments."""

import triton, triton.language as tl


@triton.jit
def gemm(
    A,
    B,
    C,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GM: tl.constexpr,
    ACC: tl.constexpr,
):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    w = GM * nn
    g = pid // w
    f = g * GM
    gs = min(nm - f, GM)
    pm = f + (pid % w) % gs
    pn = (pid % w) // gs
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    ap = A + om[:, None] * sam + ok[None, :] * sak
    bp = B + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0)
        b = tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc, out_dtype=ACC)
        ap += BK * sak
        bp += BK * sbk
    c = acc.to(C.dtype.element_ty)
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(C + cm[:, None] * scm + cn[None, :] * scn, c, mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def mxgemm(
    A,
    B,
    C,
    SA,
    SB,
    K,
    sam,
    sbk,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FA: tl.constexpr,
    FB: tl.constexpr,
    DA: tl.constexpr,
    DB: tl.constexpr,
):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    oka = tl.arange(0, BK // DA)
    okb = tl.arange(0, BK // DB)
    os = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(A + om[:, None] * sam + oka[None, :] + k * (BK // DA))
        b = tl.load(B + (okb[:, None] + k * (BK // DB)) * sbk + on[None, :])
        sa = tl.load(SA + om[:, None] * (K // 32) + os[None, :] + k * (BK // 32))
        sb = tl.load(SB + on[:, None] * (K // 32) + os[None, :] + k * (BK // 32))
        acc = tl.dot_scaled(a, sa, FA, b, sb, FB, acc)
    tl.store(C + om[:, None] * scm + on[None, :], acc)


@triton.jit
def softmax(O, I, si, so, R, Cn, BS: tl.constexpr):
    r0 = tl.program_id(0)
    st = tl.num_programs(0)
    for r in tl.range(r0, R, st):
        c = tl.arange(0, BS)
        m = c < Cn
        x = tl.load(I + r * si + c, mask=m, other=-float("inf"))
        x = x.to(tl.float32)
        x = x - tl.max(x, axis=0)
        e = tl.exp(x)
        tl.store(O + r * so + c, (e / tl.sum(e, axis=0)).to(O.dtype.element_ty), mask=m)


@triton.jit
def layernorm(X, Y, W, B, Mean, Rstd, stride, N, eps, BS: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    acc = tl.zeros([BS], dtype=tl.float32)
    for o in range(0, N, BS):
        c = o + tl.arange(0, BS)
        acc += tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / N
    v = tl.zeros([BS], dtype=tl.float32)
    for o in range(0, N, BS):
        c = o + tl.arange(0, BS)
        x = tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
        x = tl.where(c < N, x - mean, 0.0)
        v += x * x
    rs = 1 / tl.sqrt(tl.sum(v, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rs)
    for o in range(0, N, BS):
        c = o + tl.arange(0, BS)
        m = c < N
        w = tl.load(W + c, mask=m)
        b = tl.load(B + c, mask=m)
        x = tl.load(X + c, mask=m, other=0.0).to(tl.float32)
        tl.store(Y + c, ((x - mean) * rs * w + b).to(Y.dtype.element_ty), mask=m)


@triton.jit
def fa(
    Q,
    K,
    V,
    O,
    sm,
    L,
    sqh,
    sqm,
    skh,
    skn,
    svh,
    svn,
    soh,
    som,
    N,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    om = pm * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    n = tl.arange(0, BN)
    q = tl.load(Q + h * sqh + om[:, None] * sqm + d[None, :], mask=om[:, None] < N, other=0.0)
    mi = tl.full([BM], -float("inf"), tl.float32)
    li = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    s = sm * 1.44269504
    hi = tl.minimum((pm + 1) * BM, N) if CAUSAL else N
    for j in range(0, hi, BN):
        kk = tl.load(K + h * skh + (j + n)[None, :] * skn + d[:, None], mask=(j + n)[None, :] < N, other=0.0)
        qk = tl.dot(q, kk) * s
        qk = tl.where((j + n)[None, :] < N, qk, -float("inf"))
        if CAUSAL:
            qk = tl.where(om[:, None] >= (j + n)[None, :], qk, -float("inf"))
        m2 = tl.maximum(mi, tl.max(qk, 1))
        p = tl.math.exp2(qk - m2[:, None])
        al = tl.math.exp2(mi - m2)
        li = li * al + tl.sum(p, 1)
        acc = acc * al[:, None]
        v = tl.load(V + h * svh + (j + n)[:, None] * svn + d[None, :], mask=(j + n)[:, None] < N, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        mi = m2
    acc = acc / li[:, None]
    tl.store(L + h * N + om, mi + tl.math.log2(li), mask=om < N)
    tl.store(O + h * soh + om[:, None] * som + d[None, :], acc.to(O.dtype.element_ty), mask=om[:, None] < N)
