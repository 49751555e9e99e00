// A host of control planes of programs in a process of its own, which a test can kill: `program-host.ts FOLDER PROGRAMS`. It opens what the folder has, and answers each
// message `put` with the state of the control plane.
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { programEngine } from '#controlplanes/embedded/programs/engine.ts'
import type { ControlPlaneRequest } from '#controlplanes/port.ts'
import { systemClock } from '#lib/system-clock.ts'

const [root = '', programs = ''] = process.argv.slice(2)
const host = new EmbeddedHost({ root, clock: systemClock, engine: await programEngine(programs) })
await host.open()

export interface PutMessage {
  readonly put: ControlPlaneRequest
  readonly admin: Parameters<EmbeddedHost['kubeconfig']>[1]
}
export interface PutAnswer {
  readonly state: string
  readonly port: number | undefined
  readonly kubeconfig: string | undefined
}

process.on('message', ({ put, admin }: PutMessage) => {
  void (async () => {
    await host.put(put)
    const plane = await host.get(put.id)
    const answer = { state: plane?.state ?? '', port: plane?.port, kubeconfig: await host.kubeconfig(put.id, admin) }
    process.send?.(answer satisfies PutAnswer)
  })()
})
process.on('disconnect', () => process.exit())
process.send?.('open')
