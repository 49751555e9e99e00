// Keeps the hosts' agent.json as declared for their cluster. Reads and writes only hosts whose text may differ.
import { readText, writeWhole } from './process/record.ts'

/** The desired text of agent.json; if undefined, agents keep their current file. */
export type AgentConfigText = () => Promise<string | undefined>

export class ConfigFiles {
  readonly #wanted: AgentConfigText | undefined
  /** The last known content of each file. */
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
