// Keeps the agent.json of hosts as the provider's own configuration says. Only hosts whose text may differ are read and written.
import { readFile, stat } from 'node:fs/promises'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { readText, writeWhole } from './process/record.ts'

/** The text of agent.json as it should be now; undefined: agents use their defaults. */
export type AgentConfigText = () => Promise<string | undefined>

/** Reads the file again only when it changed. One that cannot be read any longer changes nothing on any host; it must be there at the start. */
export async function configTextOf(path: string, log: Pick<Logger, 'warn'>): Promise<AgentConfigText> {
  const versionOf = async () => {
    const { mtimeMs, ino, size } = await stat(path)
    return `${ino}:${mtimeMs}:${size}`
  }
  let version = await versionOf()
  let text: string | undefined = await readFile(path, 'utf8')
  let problem: string | undefined
  return async () => {
    try {
      const now = await versionOf()
      if (now !== version) text = await readFile(path, 'utf8')
      version = now
      problem = undefined
    } catch (cause) {
      const message = messageOf(cause)
      if (message !== problem)
        log.warn('cannot read the agent configuration; agents keep their current one', { path, error: message })
      problem = message
    }
    return text
  }
}

export class ConfigFiles {
  readonly #wanted: AgentConfigText | undefined
  /** What each file was found or written to hold. */
  readonly #known = new Map<string, string>()

  constructor(wanted: AgentConfigText | undefined) {
    this.#wanted = wanted
  }

  async keep(path: string): Promise<void> {
    const wanted = await this.#wanted?.()
    if (wanted === undefined || this.#known.get(path) === wanted) return
    if ((await readText(path)) !== wanted) await writeWhole(path, wanted)
    this.#known.set(path, wanted)
  }

  forget(path: string): void {
    this.#known.delete(path)
  }
}
