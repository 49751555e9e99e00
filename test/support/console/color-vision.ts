// Colors as people with each kind of color blindness see them, and how far two of them are apart. Pure.
// Matrices: Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. Distance: CIE 1976 in L*a*b* (D65); about 2.3 is just noticeable.

type Rgb = readonly [number, number, number]
type Matrix = readonly [Rgb, Rgb, Rgb]

export const VISIONS: Readonly<Record<string, Matrix>> = {
  'full color vision': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

const channel = (hex: string, at: number): number => {
  const c = Number.parseInt(hex.slice(1 + at * 2, 3 + at * 2), 16) / 255
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
}

const times = (m: Matrix, [x, y, z]: Rgb): Rgb => {
  const row = ([a, b, c]: Rgb): number => a * x + b * y + c * z
  return [row(m[0]), row(m[1]), row(m[2])]
}

const XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
]
const WHITE: Rgb = [0.95047, 1, 1.08883]

function lab(linear: Rgb): Rgb {
  const xyz = times(XYZ, linear.map((c) => Math.min(1, Math.max(0, c))) as unknown as Rgb)
  const f = (at: 0 | 1 | 2): number => {
    const t = xyz[at] / WHITE[at]
    return t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116
  }
  return [116 * f(1) - 16, 500 * (f(0) - f(1)), 200 * (f(1) - f(2))]
}

/** `hex`: `#009e73`. */
export function distance(a: string, b: string, vision: string): number {
  const seen = (hex: string): Rgb =>
    lab(times(VISIONS[vision] as Matrix, [channel(hex, 0), channel(hex, 1), channel(hex, 2)]))
  const [x, y] = [seen(a), seen(b)]
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2])
}
