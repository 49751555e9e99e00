// What one `kubenode get` requests, and the objects it returns.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printable } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { isApiError } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural } from '#api/schema/resource.ts'
import type { NamespaceOptions, ServerOptions } from '../fleet/connect.ts'
import { findObject, findOne } from '#explain/objects/find-object.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Form } from './form.ts'
import type { Wanted } from './wanted.ts'

export interface GetOptions extends ServerOptions, NamespaceOptions {
  readonly output?: Form
  readonly selector?: string
  readonly fieldSelector?: string
  readonly allNamespaces?: boolean
  readonly watch?: boolean
  readonly watchOnly?: boolean
  readonly ignoreNotFound?: boolean
  /** Left to kubectl. */
  readonly sortBy?: string
  readonly headers: boolean
  readonly showKind?: boolean
  readonly showLabels?: boolean
  readonly labelColumns?: readonly string[]
  readonly showManagedFields?: boolean
}

/** `namespace` undefined: all namespaces. */
export interface Asked {
  readonly client: KubeClient
  readonly namespace: string | undefined
  readonly options: GetOptions
  readonly form: Form
  readonly io: Io
  /** Errors about missing names, reported after the found objects. */
  readonly missed: unknown[]
}

/** Whole objects, for formats other than tables. */
export async function objectsOf({ type, noun, name }: Wanted, asked: Asked): Promise<readonly KubeObject[]> {
  const { client, namespace } = asked
  if (name !== undefined && asked.options.ignoreNotFound === true) {
    const found = await findOne(client, type, { name, namespace })
    return found === undefined ? [] : [found]
  }
  if (name !== undefined) return [await findObject(client, type, { name, namespace }, noun)]
  try {
    return await listAll(client, type, listOptions(asked, type.namespaced))
  } catch (e) {
    if (!isApiError(e) || e.status !== 404) throw e
    throw new KubeNodeError(inspectErrors.KN1315({ kind: qualifiedPlural(type) }), { cause: e })
  }
}

export function listOptions({ namespace, options }: Asked, isNamespaced: boolean) {
  const { selector, fieldSelector } = options
  return {
    ...(isNamespaced && namespace !== undefined && { namespace }),
    ...defined({ labelSelector: selector, fieldSelector }),
  }
}

/** On a terminal, object content must not send control codes. In a pipe, programs get the value unchanged. */
export const forReader = (io: Io, text: string): string => (io.isTerminal ? printable(text) : text)
