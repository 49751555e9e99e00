// The trailers in which a commit by sync names what it reverts. Only this file writes and reads them.
const REVERTS = 'Kubenode-Reverts'
const RESTORES = 'Kubenode-Restores'

export interface NamedRevert {
  /** The reverted commit. */
  readonly reverts: string
  /** The commit whose files are restored. */
  readonly restores: string
}

/** Trailers of the last paragraph. If a name appears twice, the commit names nothing. */
export function revertNamedIn(message: string): NamedRevert | undefined {
  const last = message.trimEnd().split('\n\n').at(-1) ?? ''
  const [reverts, ...more] = valuesOf(last, REVERTS)
  const [restores, ...others] = valuesOf(last, RESTORES)
  if (reverts === undefined || restores === undefined || more.length + others.length > 0) return undefined
  return ID.test(reverts) && ID.test(restores) ? { reverts, restores } : undefined
}

export const revertTrailers = ({ reverts, restores }: NamedRevert): string =>
  `${REVERTS}: ${reverts}\n${RESTORES}: ${restores}`

const ID = /^[0-9a-f]{40}$/

const valuesOf = (paragraph: string, name: string): readonly string[] =>
  paragraph.split('\n').flatMap((line) => {
    const [key, ...value] = line.split(':')
    return key?.toLowerCase() === name.toLowerCase() ? [value.join(':').trim()] : []
  })
