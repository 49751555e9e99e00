// Selectors as they stand in objects that others wrote: a server does not check every key of theirs, and one that cannot be read must not stop those beside it.
import { messageOf } from '#lib/errors.ts'
import { type LabelSelector, type Selector, matchesSelector, selectorOf } from '#kube/selector.ts'

export type ReadSelector =
  | { readonly kind: 'Selector'; readonly selector: Selector }
  | { readonly kind: 'Unreadable'; readonly why: string }

export function readSelector(selector: LabelSelector): ReadSelector {
  try {
    return { kind: 'Selector', selector: selectorOf(selector) }
  } catch (e) {
    return { kind: 'Unreadable', why: messageOf(e) }
  }
}

type Labels = Parameters<typeof matchesSelector>[1]

/** What cannot be read selects nothing. */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  const read = readSelector(selector)
  return read.kind === 'Selector' && matchesSelector(read.selector, labels)
}
