// A count option: a bad number is refused with the rest of the command line, before any request.
import { InvalidArgumentError, Option } from 'commander'

/** Keeps the text as typed. */
export const countOption = (flags: string, help: string, least = 1): Option =>
  new Option(flags, help).argParser((text: string) => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return text
    throw new InvalidArgumentError(`Give a whole number from ${least} on.`)
  })

/** The parser of an option that is used as a number. */
export const wholeNumber =
  (least: number, most?: number) =>
  (text: string): number => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= least && value <= (most ?? value)) return value
    throw new InvalidArgumentError(`Give a whole number from ${least} ${most === undefined ? 'on' : `to ${most}`}.`)
  }
