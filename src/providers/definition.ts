// A provider's definition: its name, its options, and how to create it from them. `registry.ts` lists all.
import { type Field, type Out, str } from '#api/build.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { AgentConfigText } from './config-file.ts'
import type { Provider } from './port.ts'

/** What the serving program passes to a provider. Credentials and places come from its options. */
export interface ProviderTools {
  readonly clock: Clock
  readonly log: Logger
  /** The desired text of agent.json. */
  readonly agentConfig?: AgentConfigText
  /** The Node program, and KubeNode's program files that run on hosts. */
  readonly node: string
  readonly entries: Readonly<Record<'agent' | 'hollow', string>>
  /** Node's compile cache folder. */
  readonly compileCache?: string
  /** The program's environment, where clouds put the names of roles and keys. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The script with which a new cloud host joins at its first start. Equal bundles give equal texts. */
  readonly userData: (join: JoinBundle) => string
}

/** What to do with a host that belongs to no Machine. */
export type OrphanPolicy = 'Report' | 'Delete'

export interface ProviderDefinition<Options extends object = object, Path extends string = string> {
  /** The value of `Machine.spec.provider.name`, and the prefix of its hosts' ids. */
  readonly name: string
  /** One sentence for the reference page. */
  readonly doc: string
  readonly optionsSchema: Field<Options, unknown>
  /** The schema of `Machine.spec.provider.params`, for the reference page. */
  readonly paramsSchema?: Field<object, unknown>
  /** Options that are paths. Relative ones start at the providers file's folder, and no other user may be able to replace their content. */
  readonly paths: readonly Path[]
  /** Needs no options and touches nothing: served even if the configuration does not list it. */
  readonly isAlwaysServed?: boolean
  /** Its actual name, if one definition creates providers of different names. */
  servedName?(options: Options): string
  /** Set where hosts are created locally and cost nothing to recreate: leftovers are deleted by default. Otherwise they are reported. */
  readonly orphans?: OrphanPolicy
  /** Its files are also for other users, such as those inside machines. */
  readonly writesForOthers?: boolean
  create(options: Options, tools: ProviderTools): Promise<Provider>
}

/** The definition of a provider with these options. */
export type DefinitionFor<F extends Field<object>> = ProviderDefinition<Out<F>, keyof Out<F> & string>

/** Linux's limit. */
const LONGEST_PATH = 4096

export const path = (doc: string): Field<string> =>
  str(doc, { min: 1, max: LONGEST_PATH, pattern: '^[^\\x00-\\x1f]+$', expects: 'a path' })
