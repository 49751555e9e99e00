// Hosts of a real cluster: agents as processes of this machine, which join with the line that `kubenode machine join-command` prints.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleText } from '#agent/join/join-host.ts'
import { processesOfNode } from '#agent/supervise/mark.ts'

const KUBENODE = join(import.meta.dirname, '../../../bin/kubenode')

/** The bundle in a printed line: the only word of that length. */
function bundleIn(line: string): string {
  const [bundle] = line.match(/[A-Za-z0-9+/=]{300,}/) ?? []
  if (bundle === undefined) throw new Error(`no join bundle in: ${line.slice(0, 200)}`)
  return bundleText(bundle)
}

export class Hosts {
  readonly #folder: string
  readonly #agents = new Map<string, ChildProcess>()

  constructor(folder: string) {
    this.#folder = folder
  }

  start(name: string, line: string): void {
    const root = join(this.#folder, name)
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'join.json'), bundleIn(line), { mode: 0o600 })
    const log = openSync(join(root, 'agent.log'), 'a')
    const agent = spawn(KUBENODE, ['agent', 'run', '--root', root], { stdio: ['ignore', log, log] })
    this.#agents.set(name, agent)
  }

  /** Processes of its components. */
  components(name: string): readonly number[] {
    return processesOfNode(join(this.#folder, name)).map((p) => p.process.pid)
  }

  async stop(): Promise<void> {
    for (const [name, agent] of this.#agents) {
      if (agent.exitCode === null && agent.signalCode === null) {
        agent.kill('SIGKILL')
        await once(agent, 'exit')
      }
      for (const pid of this.components(name)) process.kill(pid, 'SIGKILL')
    }
  }
}
