// The trailers by which a commit of sync names what it reverts: written and read here only.
const REVERTS = 'Kubenode-Reverts'
const RESTORES = 'Kubenode-Restores'

export interface NamedRevert {
  /** The commit that is reverted. */
  readonly reverts: string
  /** The commit whose files come back. */
  readonly restores: string
}

/** Trailers of the last paragraph; each name once, or the commit names nothing. */
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
