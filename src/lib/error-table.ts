// Error texts: each room owns a table of them, and an error can only be created from its table. A number means one thing to do: texts that require the same
// action share a number, and src/explain/errors has its cause and advice.

export type ErrorCode = `KN${number}`
/** Further texts of a number have a suffix: KN1020_kind. */
type ErrorKey = ErrorCode | `${ErrorCode}_${string}`

/** Values are in braces: "cannot fetch {place}: {why}". */
export interface ErrorText {
  /** What cannot be done, to which object, and what was observed. */
  readonly text: string
  /** What the reader should do, or what happens automatically. Appended to the text after a semicolon. */
  readonly next: string
}

declare const registered: unique symbol

/** An error's text with its values filled in. Only a table creates it. */
export interface ErrorMessage {
  readonly code: ErrorCode
  readonly text: string
  readonly [registered]: true
}

type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never
type Values<E extends ErrorText> = Readonly<Record<Placeholders<E['text']> | Placeholders<E['next']>, string | number>>

/** `agentErrors.KN8010({ place, why })`. */
type ErrorMaker<E extends ErrorText = ErrorText> = { readonly code: ErrorCode } & ([
  Placeholders<E['text']> | Placeholders<E['next']>,
] extends [never]
  ? () => ErrorMessage
  : (values: Values<E>) => ErrorMessage)

export type ErrorTable<T> = {
  readonly [C in keyof T]: T[C] extends ErrorText ? ErrorMaker<T[C]> : never
}

/** The error texts of one room. A new error is a line here and `new KubeNodeError(partErrors.KN…({ … }))` where it occurs. */
export function errorTable<const T extends Readonly<Record<ErrorKey, ErrorText>>>(texts: T): ErrorTable<T> {
  const makers = Object.entries<ErrorText>(texts).map(([key, { text, next }]) => {
    const [code = key] = key.split('_', 1)
    const whole = `${text}; ${next}`
    const make = (values: Readonly<Record<string, string | number>> = {}) => ({ code, text: filled(whole, values) })
    return [key, Object.assign(make, { code })] as const
  })
  // The makers' types follow from the literal texts, which Object.fromEntries loses.
  return Object.fromEntries(makers) as unknown as ErrorTable<T>
}

const filled = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
