// Keeps the agent.json of hosts as it is declared for their cluster. Only hosts whose text may differ are read and written.
import { readText, writeWhole } from './process/record.ts'

/** The desired text of agent.json; undefined: agents keep their current file. */
export type AgentConfigText = () => Promise<string | undefined>

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
