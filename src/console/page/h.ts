// Creates page elements. Makes untrusted text from clusters visible here, so that no view can forget it (S20). The types of preact's own `h` do not fit
// `exactOptionalPropertyTypes`; its behavior is the same.
import { createElement } from 'preact'
import { visible } from '#lib/printable.ts'
import type { ComponentChildren, JSX, VNode } from 'preact'

type Tags = JSX.IntrinsicElements
type Keyed = { readonly key?: string | number; readonly [data: `data-${string}`]: string | undefined }
/** Children follow the properties or, where a component has a specific use for them, are among them. */
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
  if (typeof type !== 'string') return createElement(type as string, props, ...children) as VNode
  return createElement(type, shownProps(props), ...children.map(shownChild)) as VNode
}

/** Attributes that a browser shows or reads aloud. */
const SHOWN = ['title', 'aria-label', 'aria-description', 'alt', 'placeholder', 'label'] as const

function shownProps(props: object): object {
  const texts = SHOWN.flatMap((name) => {
    const text = (props as Readonly<Record<string, unknown>>)[name]
    return typeof text === 'string' && visible(text) !== text ? [[name, visible(text)] as const] : []
  })
  return texts.length === 0 ? props : { ...props, ...Object.fromEntries(texts) }
}

const shownChild = (child: ComponentChildren): ComponentChildren =>
  typeof child === 'string' ? visible(child) : Array.isArray(child) ? child.map(shownChild) : child
