// One agent a node: holds a name that the kernel gives to one process and takes back when it ends, however it ends.
import { statSync } from 'node:fs'
import net from 'node:net'
import { systemClock, type Clock } from '#lib/clock.ts'
import { KubeNodeError, isKubeNodeError, messageOf } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'

export interface NodeLock {
  release(): Promise<void>
}

const TRY_EVERY_MS = 200

/** Waits for one that is about to end, as an agent does whose supervisor was killed. */
export async function awaitNodeLock(
  stateFolder: string,
  mostMs: number,
  clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock,
): Promise<NodeLock> {
  const until = clock.monotonic() + mostMs
  for (;;) {
    try {
      return await takeNodeLock(stateFolder)
    } catch (e) {
      if (!isKubeNodeError(e) || e.code !== agentErrors.KN8001.code || clock.monotonic() >= until) throw e
      await clock.sleep(TRY_EVERY_MS)
    }
  }
}

/** An abstract socket leaves no file behind. Its name holds what tells this folder from a copy of it, or from one of the same path in a container. */
export async function takeNodeLock(stateFolder: string): Promise<NodeLock> {
  const { dev, ino } = statSync(stateFolder)
  const server = net.createServer((socket) => socket.destroy())
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ path: `\0kubenode-agent-${dev}-${ino}` }, resolve)
    })
  } catch (e) {
    if (e instanceof Error && 'code' in e && e.code === 'EADDRINUSE')
      throw new KubeNodeError(agentErrors.KN8001({ stateFolder }))
    throw new KubeNodeError(agentErrors.KN8002({ stateFolder, why: messageOf(e) }), { cause: e })
  }
  // The lock alone keeps nobody awake.
  server.unref()
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}
