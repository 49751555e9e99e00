// Opens the image named on a command line: a local layout, or a registry repository with its login and CA.
import { existsSync } from 'node:fs'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ImageStore } from './image-store.ts'
import { ociErrors } from './oci-errors.ts'
import { isLoopbackHost, parseReference, type ImageReference } from './reference.ts'
import { RegistryStore } from './registry-store.ts'
import { readText } from '../authoring/statement-file.ts'
import { credentialsOf } from './docker-config.ts'
import { imageNameOf, onlyTag, withLayout } from './layout-file.ts'

export interface RegistryAccess {
  readonly ca?: string
  readonly dockerConfig?: string
  /** True for loopback only. */
  readonly insecure?: string | true
  readonly env: Readonly<Record<string, string | undefined>>
  readonly mayWrite?: boolean
}

export interface NamedRegistry {
  readonly store: RegistryStore
  readonly named: ImageReference
}

export function registryFor(text: string, access: RegistryAccess): NamedRegistry {
  const named = parseReference(text)
  const { host } = named
  const { ca, dockerConfig, insecure, env, mayWrite = false } = access
  const isInsecure = insecure === true || insecure === host
  if (insecure === true && !isLoopbackHost(host)) throw new KubeNodeError(ociErrors.KN13024({ host }))
  const credentials = credentialsOf(host, { env, ...defined({ file: dockerConfig }) })
  const store = new RegistryStore(named, {
    mayWrite,
    isInsecure,
    ...(ca !== undefined && { ca: readText(ca, 'certificate authority') }),
    ...defined({ credentials }),
  })
  return { store, named }
}

export interface OpenedImage {
  readonly store: ImageStore
  /** Tag or digest. */
  readonly reference: string
  /** HOST/NAME. */
  readonly name: string
}

export async function openedImage<T>(
  text: string,
  access: RegistryAccess,
  work: (image: OpenedImage) => Promise<T>,
): Promise<T> {
  if (existsSync(text))
    return withLayout(text, (store) => work({ store, reference: onlyTag(store), name: imageNameOf(store) }))
  const { store, named } = registryFor(text, access)
  const { host, repository, tag, digest } = named
  const reference = digest ?? tag
  if (reference === undefined)
    throw new KubeNodeError(ociErrors.KN13011({ reference: JSON.stringify(text), why: 'it has no tag and no digest' }))
  return work({ store, reference, name: `${host}/${repository}` })
}
