// Which accelerators the message of a condition names, and whether these are all of them. A message that may leave one out names none.
import { MAX_CONDITION_MESSAGE } from '#api/node-conditions.ts'
import { pciBus } from '#lib/pci-bus.ts'

/** Conditions whose message names each faulty accelerator by its PCI address. */
export const NAMING_CONDITIONS: readonly string[] = ['GPUNeedsReset', 'GPUNeedsReboot', 'GPUFaulty']

/** How lines of the kernel's log begin that name an accelerator. What follows the address may contain names that users choose. */
const OF_KERNEL = /^(?:NVRM: (?:Xid \(PCI:|(?:The NVIDIA )?GPU (?:at )?(?:PCI:)?)|amdgpu )/

/** A cut drops half a character as well. */
const MAYBE_CUT = MAX_CONDITION_MESSAGE - 1
const ONE_MORE = ' and 1 more'

/** A message without its end can still tell people what was found. */
const LEAST_SHOWN = 80
const UNCLEAR = / \(unknown to .{1,200}\)$/

/** The buses of all accelerators that a condition names. Undefined: it has a part that names none, its end was cut off, or there may be more. */
export function faultyBuses(message: string): readonly string[] | undefined {
  if (message.length >= MAYBE_CUT || UNCLEAR.test(message)) return undefined
  const line = OF_KERNEL.exec(message)?.[0]
  const parts = line === undefined ? message.split('; ') : [message.slice(line.length)]
  const found = parts.map((part) => (/ and \d+ more$/.test(part) ? undefined : pciBus(part)))
  return found.every((bus) => bus !== undefined) ? [...new Set(found)] : undefined
}

/** A condition shows one message at a time: the text says so if another one that holds too names an accelerator that this one does not. */
export function withUnnamed(type: string, shown: string, others: readonly string[]): string {
  const named = NAMING_CONDITIONS.includes(type) ? faultyBuses(shown) : undefined
  if (named === undefined) return shown
  const isWhole = others.every((other) => faultyBuses(other)?.every((bus) => named.includes(bus)))
  return isWhole ? shown : `${shown.slice(0, MAYBE_CUT - ONE_MORE.length).toWellFormed()}${ONE_MORE}`
}

/** A condition is true if one source says so. The text says which other sources cannot tell: they may find more once they can. */
export function withUnclear(shown: string, sources: readonly string[]): string {
  if (sources.length === 0) return shown
  const names = sources.toSorted().join(', ')
  const end = ` (unknown to ${names.slice(0, MAX_CONDITION_MESSAGE - LEAST_SHOWN)})`
  return `${shown.slice(0, MAYBE_CUT - 1 - end.length).toWellFormed()}${end}`
}
