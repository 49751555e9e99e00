// Masks what looks like a secret in free text, such as the log of a program that we did not write. It errs on the side of masking.

const MASK = '[secret]'

const NAME = String.raw`[\w.-]*(?:password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|cookie)[\w.-]*`

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, MASK],
  // What is left of such a block when its beginning was cut off.
  [/^[A-Za-z0-9+/]{40,}={0,2}$/gm, MASK],
  [/\b(bearer|basic|negotiate)\s+[\w.~+/=-]{6,}/gi, `$1 ${MASK}`],
  [/\b(authorization["']?\s*[:=]\s*["']?)[^\s"',;]+/gi, `$1${MASK}`],
  [new RegExp(String.raw`(["']?\b${NAME}["']?\s*[:=]\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s,;&"'}\]]+)`, 'gi'), `$1${MASK}`],
  [new RegExp(String.raw`(--${NAME})\s+(?!-)\S+`, 'gi'), `$1 ${MASK}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]+:[^\s/@]+@/gi, `$1${MASK}@`],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, MASK],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MASK],
  [/\b(?:gh[pousr]|glpat|xox[abprs]|sk)[-_][\w-]{16,}/g, MASK],
]

/** Longer texts are cut before they are read, at their end. */
const MAX_CHARS = 65_536

export const maskSecretsIn = (text: string): string =>
  PATTERNS.reduce((masked, [pattern, replacement]) => masked.replaceAll(pattern, replacement), text.slice(-MAX_CHARS))
