// Machines that each have a subfolder: finds and lists them, and runs one operation at a time per machine.
import { readdir } from 'node:fs/promises'
import { KeyedLock } from '#lib/keyed-lock.ts'
import { badName, isMachineName, machineIn, takenName } from './machine-name.ts'
import type { CreateResult, Host, HostRequest } from './port.ts'
import { type NodeRecord, readRecord } from './process/record.ts'

interface Folder {
  readonly dir: string
  /** The file with the machine's record. */
  readonly record: string
}

export interface MachineFoldersOptions<At extends Folder> {
  readonly scheme: string
  readonly dir: string
  readonly layout: (dir: string, machine: string) => At
}

export class MachineFolders<At extends Folder> {
  readonly #o: MachineFoldersOptions<At>
  readonly #locks = new KeyedLock({ what: 'calls about one machine' })

  constructor(options: MachineFoldersOptions<At>) {
    this.#o = options
  }

  /** Undefined for other providers' ids, and for names that these machines cannot have. */
  machineOf(providerID: string): string | undefined {
    return machineIn(this.#o.scheme, providerID)
  }

  at(machine: string): At {
    return this.#o.layout(this.#o.dir, machine)
  }

  async names(): Promise<readonly string[]> {
    const entries = await readdir(this.#o.dir, { withFileTypes: true })
    return entries.filter((e) => e.isDirectory() && isMachineName(e.name)).map((e) => e.name)
  }

  /** The hosts that `get` finds. */
  async hosts(get: (providerID: string) => Promise<Host | undefined>): Promise<readonly Host[]> {
    const hosts = await Promise.all((await this.names()).map((machine) => get(this.#o.scheme + machine)))
    return hosts.filter((h) => h !== undefined)
  }

  /** Runs after all earlier calls for the machine, however those ended. */
  inTurn<T>(machine: string, work: (at: At) => Promise<T>): Promise<T> {
    return this.#locks.run(machine, () => work(this.at(machine)))
  }

  /** Refused if the name is invalid or belongs to another host; passes on an existing host as known. */
  async create(
    { machine, machineUid }: HostRequest,
    make: (at: At, known: NodeRecord | undefined) => Promise<Host>,
  ): Promise<CreateResult> {
    const bad = badName(machine)
    if (bad !== undefined) return bad
    return this.inTurn(machine, async (at): Promise<CreateResult> => {
      const known = await readRecord(at)
      return takenName(known, machineUid, at.dir) ?? { kind: 'Host', host: await make(at, known) }
    })
  }
}
