// A version with its color: the same one everywhere, and the next version has another. The text is always next to it.
import { h } from '../h.ts'
import type { VNode } from 'preact'

/** As many as the style sheet has. */
const COLORS = 7
/** A step of any number changes the color; two numbers that change together rarely keep it. */
const WEIGHTS = [3, 1, 2, 5]

/** The color's number. Pure. */
export const colorOf = (version: string): number =>
  [...version.matchAll(/\d+/g)]
    .slice(0, WEIGHTS.length)
    .reduce((sum, [digits], i) => (sum + (Number(digits) % COLORS) * (WEIGHTS[i] ?? 1)) % COLORS, 0)

interface Props {
  readonly name?: string
  readonly version: string
  /** To the machines that run it. */
  readonly href?: string
}

export function Version({ name, version, href }: Props): VNode {
  const text = name === undefined ? version : `${name} ${version}`
  return h(
    'span',
    { class: 'version nowrap' },
    h('i', { class: `swatch v${colorOf(version)}`, 'aria-hidden': 'true' }),
    href === undefined ? text : h('a', { href }, text),
  )
}
