// Selectors from other clients' objects. A server does not validate all of their keys, and an unreadable one must not stop the others.
import { messageOf } from '#lib/errors.ts'
import { type Selector, matchesSelector, selectorOf } from '#kube/selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'

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

/** An unreadable selector matches nothing. */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  const read = readSelector(selector)
  return read.kind === 'Selector' && matchesSelector(read.selector, labels)
}
