// Makes elements of the page. The types of preact's own `h` do not fit `exactOptionalPropertyTypes`; what it does is the same.
import { createElement } from 'preact'
import type { ComponentChildren, JSX, VNode } from 'preact'

type Tags = JSX.IntrinsicElements
type Keyed = { readonly key?: string | number; readonly [data: `data-${string}`]: string | undefined }
/** Children are given after the properties, or, where a component has one use of them, among these. */
type Own<P> = Omit<P, 'children'> & Partial<Pick<P, Extract<keyof P, 'children'>>> & Keyed

export function h<K extends keyof Tags>(
  tag: K,
  props: Tags[K] & Keyed,
  ...children: readonly ComponentChildren[]
): VNode
export function h<P>(
  component: (props: P) => VNode | null,
  props: Own<P>,
  ...children: readonly ComponentChildren[]
): VNode
export function h(type: unknown, props: object, ...children: readonly ComponentChildren[]): VNode {
  return createElement(type as string, props, ...children) as VNode
}
