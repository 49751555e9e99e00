// The permits from which a Machine was released. The release is written to the Machine itself over the exact version that was read, because the switch order is
// also written over one version of the Machine: of a concurrent order and release, one is rejected. After a release no order comes under that permit, even from
// a stale cache or a former leader, so its slot may be freed.
import { ANNOTATIONS } from '../names.ts'

/** Far more permits than one machine has at a time; only a writer paused for this many releases would miss one. */
export const MOST_LET_GO = 16

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
}

/** UIDs of permits, latest last. Names may repeat; UIDs do not. */
export const letGoFrom = ({ metadata }: Annotated): readonly string[] =>
  (metadata.annotations?.[ANNOTATIONS.letGo] ?? '').split(' ').filter((uid) => uid !== '')

export const isLetGo = (machine: Annotated, permitUid: string): boolean => letGoFrom(machine).includes(permitUid)

export function withLetGo<T extends Annotated>(machine: T, permitUid: string): T {
  const all = [...letGoFrom(machine).filter((uid) => uid !== permitUid), permitUid].slice(-MOST_LET_GO)
  const annotations = { ...machine.metadata.annotations, [ANNOTATIONS.letGo]: all.join(' ') }
  return { ...machine, metadata: { ...machine.metadata, annotations } }
}
