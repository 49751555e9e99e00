// Events of this agent about its own Machine, which `kubenode events machine/NAME` lists.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { AGENT_REPORTER } from '#api/names.ts'
import type { NewEvent } from '#kube/events.ts'
import type { PartsContext } from './context.ts'
import { defined } from '#lib/defined.ts'

const MACHINE = { apiVersion: API_GROUP_VERSION, kind: 'Machine' } as const

export function eventsOfMachine({ eventsOf, machine, session }: PartsContext): (event: NewEvent) => void {
  const events = eventsOf(AGENT_REPORTER)
  return (event) => {
    const uid = session.machineUid()
    events.record({ ...MACHINE, metadata: { name: machine, ...defined({ uid }) } }, event)
  }
}
