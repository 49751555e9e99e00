// Stops every component of a node, for a caller that removes the node. The agent itself must have exited before.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import { realFiles } from './files/real.ts'
import { takeNodeLock } from './join/lock.ts'
import { componentsFolder, nodeDir } from './node-dir.ts'
import { readBootId } from './node/facts.ts'
import { processesOfNode } from './supervise/mark.ts'
import { send } from './supervise/proc.ts'
import { Supervisor } from './supervise/supervisor.ts'

export interface StopOptions {
  readonly path: string
  readonly nodeBinary: string
  readonly clock: Clock
  readonly log: Logger
}

export async function stopNode({ path, nodeBinary, clock, log }: StopOptions): Promise<void> {
  const dir = nodeDir(path)
  mkdirSync(dir.state, { recursive: true })
  const lock = takeNodeLock(dir.state)
  const files = realFiles
  const bootId = await readBootId(files, dir)
  const supervisor = new Supervisor({ files, dir, clock, log, bootId, binFolder: dirname(nodeBinary), environment: {} })
  await supervisor.adopt()
  const components = await files.list(componentsFolder(dir))
  await Promise.all(components.map((component) => supervisor.stop(component)))
  supervisor.close()
  // Processes may outlive their component, but not the node.
  for (const { process } of processesOfNode(dir.path)) send(process.pid, 'SIGKILL')
  lock.release()
}
