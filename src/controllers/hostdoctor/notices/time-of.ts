// A time in the text of an object; undefined when it is none.
export const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
