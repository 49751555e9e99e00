// Labels, and the object form of a label selector in specs.

export type Labels = { readonly [key: string]: string } | undefined

export interface LabelSelector {
  readonly matchLabels?: { readonly [key: string]: string }
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

/** Own properties only: a label may be named `constructor`. */
export const labelOf = (labels: Labels, key: string): string | undefined =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined

export const isOneOf = (value: string | undefined, values: readonly string[]): boolean =>
  value !== undefined && values.includes(value)
