// The time in an object's text. Undefined if it is not a time.
export const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
