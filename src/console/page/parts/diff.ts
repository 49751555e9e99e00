// Added and removed lines as in git diff, with a mark and a color, so that neither is needed alone.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { DiffLine } from '../../plan.ts'

const CLASSES: Readonly<Record<DiffLine['tone'], string>> = {
  head: 'file',
  place: 'soft',
  added: 'more',
  removed: 'less',
  same: '',
}

interface Props {
  readonly label: string
  readonly lines: readonly DiffLine[]
  /** Number of further lines. */
  readonly more?: number
}

export const DiffLines = ({ label, lines, more = 0 }: Props): VNode =>
  h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': label },
    h(
      'pre',
      { class: 'diff mono small' },
      lines.map(({ tone, text }, n) => h('span', { key: n, class: CLASSES[tone] }, text === '' ? ' ' : text)),
    ),
    more > 0 && h('p', { class: 'soft' }, `and ${more} more lines; the command below shows all`),
  )
