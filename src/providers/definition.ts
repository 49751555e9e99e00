// What a provider says of itself before it is made: its name, its options, and how it is made of them. `registry.ts` lists all.
import { type Field, type Out, str } from '#api/build.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { AgentConfigText } from './config-file.ts'
import type { Provider } from './port.ts'

/** What the program that serves a provider hands to it; credentials and places come in its options. */
export interface ProviderTools {
  readonly clock: Clock
  readonly log: Logger
  /** The desired text of agent.json. */
  readonly agentConfig?: AgentConfigText
  /** The Node program, and the files of our programs that run on hosts. */
  readonly node: string
  readonly entries: Readonly<Record<'agent' | 'hollow', string>>
  /** Folder in which Node keeps what it compiled. */
  readonly compileCache?: string
  /** Variables of the program, where clouds put the names of roles and keys. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** What a new host of a cloud runs at its first start to join. Equal bundles give equal texts. */
  readonly userData: (join: JoinBundle) => string
}

/** What is done with a host that belongs to no Machine. */
export type OrphanPolicy = 'Report' | 'Delete'

export interface ProviderDefinition<Options extends object = object, Path extends string = string> {
  /** What `Machine.spec.provider.name` says, and with which the ids of its hosts begin. */
  readonly name: string
  /** One sentence for the reference page. */
  readonly doc: string
  readonly optionsSchema: Field<Options, unknown>
  /** What `Machine.spec.provider.params` may say, for the reference page. */
  readonly paramsSchema?: Field<object, unknown>
  /** Options that are paths. Relative ones start at the folder of the providers file, and no other user may be able to replace what is there. */
  readonly paths: readonly Path[]
  /** Needs no options and touches nothing: served even when the configuration does not name it. */
  readonly isAlwaysServed?: boolean
  /** Its real name, where one definition makes providers of different names. */
  servedName?(options: Options): string
  /** Where its hosts are made here and cost nothing to make again: without a word in the providers file, left-overs are deleted. Otherwise they are reported. */
  readonly orphans?: OrphanPolicy
  /** What it writes is also for other users, such as those inside of machines. */
  readonly writesForOthers?: boolean
  create(options: Options, tools: ProviderTools): Promise<Provider>
}

/** Of a provider with these options. */
export type DefinitionFor<F extends Field<object>> = ProviderDefinition<Out<F>, keyof Out<F> & string>

/** As Linux bounds them. */
const LONGEST_PATH = 4096

export const path = (doc: string): Field<string> =>
  str(doc, { min: 1, max: LONGEST_PATH, pattern: '^[^\\x00-\\x1f]+$', expects: 'a path' })
