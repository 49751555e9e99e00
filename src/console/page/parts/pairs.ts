// Components with versions in one table cell: lines break between them, never between a name and its version.
import { h } from '../h.ts'
import type { VNode } from 'preact'

export const Pairs = ({ of }: { readonly of: readonly string[] }): VNode =>
  h(
    'span',
    {},
    of.flatMap((pair, at) => [
      at === 0 ? '' : ' ',
      h('span', { key: pair, class: 'nowrap' }, at < of.length - 1 ? `${pair},` : pair),
    ]),
  )
