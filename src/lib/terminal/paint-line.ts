// Colors a redrawn line: bars, phases, counts, and stopped work. The text stays the same.
import { type Paint, toneOf } from './paint.ts'

const PIECES =
  /\[[-=~! ]+\]|\b\d+\/\d+ machines Ready|^(?:warning|note):|^ready after .*|\b(?:attention|stopped|refused|blocked|does not answer|not responding)\b|\b[A-Z][A-Za-z]+\b/g

const BAR_TONES = { '=': 'good', '~': 'warn', '-': 'warn', '!': 'bad' } as const
const isBarSign = (sign: string): sign is keyof typeof BAR_TONES => sign in BAR_TONES

export const linePainter =
  (paint: Paint): ((line: string) => string) =>
  (line) =>
    line.replace(PIECES, (piece) => painted(piece, paint))

function painted(piece: string, paint: Paint): string {
  if (piece.startsWith('['))
    return piece.replace(/=+|~+|-+|!+/g, (run) =>
      paint(isBarSign(run[0] ?? '') ? BAR_TONES[run[0] as '='] : undefined, run),
    )
  if (piece.endsWith('machines Ready')) {
    const [ready, all] = piece.split(/[/ ]/)
    return paint(all === '0' ? undefined : ready === all ? 'good' : 'warn', piece)
  }
  if (/^[A-Z]/.test(piece)) return paint(toneOf('', piece), piece)
  return paint(piece.startsWith('ready') ? 'good' : piece.endsWith(':') ? 'warn' : 'bad', piece)
}
