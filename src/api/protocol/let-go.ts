// Which permits a Machine was let go from. It is said on the Machine itself, over the very version that was looked at, because the order to switch is
// written over one version of the Machine too: of an order and a letting go that know nothing of each other, one is refused. After it no order comes under
// that permit any more, whatever caches say and whoever believes to lead, so its slot may be freed.
import { ANNOTATIONS } from '../names.ts'

/** Far more than one machine is in at a time; only a writer that stood still through as many would miss one. */
export const MOST_LET_GO = 16

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
}

/** UIDs of permits, the latest last. Names come again; UIDs do not. */
export const letGoFrom = ({ metadata }: Annotated): readonly string[] =>
  (metadata.annotations?.[ANNOTATIONS.letGo] ?? '').split(' ').filter((uid) => uid !== '')

export const isLetGo = (machine: Annotated, permitUid: string): boolean => letGoFrom(machine).includes(permitUid)

export function withLetGo<T extends Annotated>(machine: T, permitUid: string): T {
  const all = [...letGoFrom(machine).filter((uid) => uid !== permitUid), permitUid].slice(-MOST_LET_GO)
  const annotations = { ...machine.metadata.annotations, [ANNOTATIONS.letGo]: all.join(' ') }
  return { ...machine, metadata: { ...machine.metadata, annotations } }
}
