// Masks what looks like a secret in free text, such as the log of a program that we did not write. It errs on the side of masking, and its time is
// linear in the text: where a name begins and ends is found once, never tried from each of its characters.

const MASK = '[secret]'

const SECRET_NAME = /password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|cookie/i

/** Every match is the longest there is, so none of its characters is read again. */
const WORD = /[\w.-]+/g

// Sticky: what follows a name, where it ends.
const ASSIGNED = /(["']?\s*[:=]\s*)(?:"[^"\n]*"?|'[^'\n]*'?|[^\s,;&"'}\]]+)/y
const ARGUMENT = /\s+(?!-)\S+/y

const isSecret = (word: string): boolean => SECRET_NAME.test(word)

function isSecretFlag(word: string): boolean {
  const dashes = word.indexOf('--')
  return dashes !== -1 && isSecret(word.slice(dashes + 2))
}

/** Masks the values that follow words that `isNamed` accepts. */
function withoutValues(text: string, isNamed: (word: string) => boolean, value: RegExp): string {
  let out = ''
  let done = 0
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (index < done || !isNamed(word)) continue
    value.lastIndex = index + word.length
    const found = value.exec(text)
    if (found === null) continue
    out += `${text.slice(done, found.index)}${found[1] ?? ' '}${MASK}`
    done = found.index + found[0].length
  }
  return out + text.slice(done)
}

type Step = (text: string) => string

const replacing =
  (pattern: RegExp, replacement: string): Step =>
  (text) =>
    text.replaceAll(pattern, replacement)

// No repeat begins again inside what it read and gave up: each starts at fixed characters that it cannot itself contain, or then always succeeds.
const STEPS: readonly Step[] = [
  replacing(/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, MASK),
  // What is left of such a block when its beginning was cut off.
  replacing(/^[A-Za-z0-9+/]{40,}={0,2}$/gm, MASK),
  replacing(/\b(bearer|basic|negotiate)\s+[\w.~+/=-]{6,}/gi, `$1 ${MASK}`),
  replacing(/\b(authorization["']?\s*[:=]\s*["']?)[^\s"',;]+/gi, `$1${MASK}`),
  (text) => withoutValues(text, isSecret, ASSIGNED),
  (text) => withoutValues(text, isSecretFlag, ARGUMENT),
  replacing(/(:\/\/)[^\s/@:]+:[^\s/@]+@/g, `$1${MASK}@`),
  replacing(/\beyJ[\w-]{8,}[\w.-]*/g, MASK),
  replacing(/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MASK),
  replacing(/\b(?:gh[pousr]|glpat|xox[abprs]|sk)[-_][\w-]{16,}/g, MASK),
]

/** Longer texts are cut before they are read, at their beginning. */
const MAX_CHARS = 65_536

export const maskSecretsIn = (text: string): string =>
  STEPS.reduce((masked, step) => step(masked), text.slice(-MAX_CHARS))
