// Masks anything that resembles a secret in free text, such as another program's log. It prefers to mask too much. Time is linear in the text: the start and
// end of a name are found once, not tried from each character.

const MASK = '[secret]'

const SECRET_NAME = /password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|cookie/i

/** Matches are maximal, so no character is read twice. */
const WORD = /[\w.-]+/g

// Sticky: matches the value right after a name.
const ASSIGNED = /(["']?\s*[:=]\s*)(?:"[^"\n]*"?|'[^'\n]*'?|[^\s,;&"'}\]]+)/y
const ARGUMENT = /\s+(?!-)\S+/y

const isSecret = (word: string): boolean => SECRET_NAME.test(word)

function isSecretFlag(word: string): boolean {
  const dashes = word.indexOf('--')
  return dashes !== -1 && isSecret(word.slice(dashes + 2))
}

/** Masks the values after words that `isNamed` accepts. */
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

// No repetition rescans what it already read and rejected: each starts at fixed characters that it cannot contain itself, or else always succeeds.
const STEPS: readonly Step[] = [
  replacing(/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, MASK),
  // The rest of such a block after its start was cut off.
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

/** Longer texts are cut at the front before processing. */
const MAX_CHARS = 65_536

export const maskSecretsIn = (text: string): string =>
  STEPS.reduce((masked, step) => step(masked), text.slice(-MAX_CHARS))
