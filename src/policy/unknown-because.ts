// Names in a few words the reading that keeps a rule from being true or false. Pure.
import type { Explanation, LeafExplanation } from './explanation.ts'
import { pointerTokens } from './pointer.ts'

/** Undefined when the verdict is known. */
export function unknownBecause(explanation: Explanation): string | undefined {
  const leaf = explanation.verdict === 'unknown' ? firstUnknown(explanation) : undefined
  return leaf && `${leafText(leaf)} ${leaf.because === 'not there' ? 'not reported' : (leaf.because ?? 'unknown')}`
}

/** Skips known parts: below an unknown group they decide nothing. */
function firstUnknown(explanation: Explanation): LeafExplanation | undefined {
  if (explanation.verdict !== 'unknown') return undefined
  if (explanation.kind === 'leaf') return explanation
  for (const child of explanation.children) {
    const leaf = firstUnknown(child)
    if (leaf !== undefined) return leaf
  }
  return undefined
}

function leafText({ fact, path }: LeafExplanation): string {
  const [thing] = pointerTokens(path) ?? []
  return fact === 'conditions' && thing !== undefined ? `condition ${thing}` : `${fact}${path}`
}
