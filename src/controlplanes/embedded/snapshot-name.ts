// Snapshot names, which are also file names.
import { KubeNodeError } from '#lib/errors.ts'
import { embeddedErrors } from './embedded-errors.ts'

const NAME = /^[a-z0-9]([-a-z0-9.]{0,98}[a-z0-9])?$/

export function requireName(name: string): void {
  if (!NAME.test(name) || name.includes('..'))
    throw new KubeNodeError(embeddedErrors.KN1090_snapshot({ name: JSON.stringify(name.slice(0, 100)) }))
}
