// Whether the host of a node can be rescued at all, from what its Machine declares and its join recorded. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'

/** Undefined: it has the key, as far as is known. Its host can refuse it all the same. */
export function whyNoRescue(machine: Machine | undefined): string | undefined {
  if (machine === undefined) return 'the node belongs to no Machine'
  const { spec, status } = machine
  const name = nameOf(machine)
  if (spec.channel !== 'Agent') return `machine ${name} has no agent to rescue (channel ${spec.channel})`
  if (spec.ssh?.rescue === undefined) return `machine ${name} has no rescue key (spec.ssh.rescue)`
  const { finished, rescue } = status?.join ?? {}
  return finished !== undefined && rescue !== true ? `machine ${name} joined before it had a rescue key` : undefined
}
