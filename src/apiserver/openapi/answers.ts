// Answers below /openapi.
import { encodeJson } from '../codec/json.ts'
import type { Answer } from '../handlers/context.ts'
import type { Registry } from '../registry/registry.ts'
import { notAcceptable } from '../status/refusal.ts'
import { documentV2, documentV3, indexV3 } from './documents.ts'
import { GNOSTIC_TYPE, gnosticDocument } from './gnostic.ts'

interface Kept {
  readonly generation: number
  readonly bytes: Map<string, Buffer | undefined>
}

/** Documents of a registry, until it changes. */
const kept = new WeakMap<Registry, Kept>()

function bytesFor(
  registry: Registry,
  key: string,
  make: () => unknown,
  encode: (document: unknown) => Buffer = encodeJson,
): Buffer | undefined {
  let known = kept.get(registry)
  if (known?.generation !== registry.generation) {
    known = { generation: registry.generation, bytes: new Map() }
    kept.set(registry, known)
  }
  if (!known.bytes.has(key)) {
    const document = make()
    known.bytes.set(key, document === undefined ? undefined : encode(document))
  }
  return known.bytes.get(key)
}

/** Undefined when there is no such document. */
export function openApi(
  registry: Registry,
  accept: string | undefined,
  segments: readonly string[],
): Answer | undefined {
  const [version, first, second, third] = segments
  const answer = (body: Buffer | undefined): Answer | undefined =>
    body === undefined ? undefined : { code: 200, body, type: 'application/json', verbatim: true }
  if (version === 'v2' && segments.length === 1) {
    if (accept?.includes('proto-openapi.spec.v2') === true) {
      const body = bytesFor(registry, 'v2 gnostic', () => documentV2(registry), gnosticDocument)
      return { code: 200, body, type: GNOSTIC_TYPE, verbatim: true }
    }
    if (accept !== undefined && !/json|\*\/\*/.test(accept)) throw notAcceptable()
    return answer(bytesFor(registry, 'v2', () => documentV2(registry)))
  }
  if (version !== 'v3') return undefined
  if (segments.length === 1) return answer(bytesFor(registry, 'v3', () => indexV3(registry)))
  const [group, groupVersion] = first === 'api' ? ['', second] : [second ?? '', third]
  if (groupVersion === undefined) return undefined
  return answer(bytesFor(registry, `v3/${group}/${groupVersion}`, () => documentV3(registry, group, groupVersion)))
}
