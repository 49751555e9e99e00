// Fields that several settings share: ranges of addresses, what may be reached, and sizes of programs.
import { fallback, int, list, obj, str, type Field } from '#api/build.ts'
import { port } from '#api/fields.ts'

export const MAX_LIST = 32
export const MAX_PEM = 65_536

export const cidr = (doc: string): Field<string> =>
  str(doc, {
    min: 3,
    max: 64,
    pattern:
      '^([0-9]{1,3}(\\.[0-9]{1,3}){3}/([0-9]|[12][0-9]|3[0-2])|[0-9a-fA-F:]+/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))$',
    expects: 'a range of addresses such as 10.20.0.0/16',
  })

export const egress = (doc: string) =>
  list(
    doc,
    obj('Addresses and ports.', {
      cidr: cidr('Addresses that may be reached.'),
      ports: list('Ports of TCP.', port('A port.'), { min: 1, max: MAX_LIST }),
    }),
    { max: MAX_LIST },
  )

export const resources = (doc: string, cpuMilli: number, heapMiB: number, otherMiB = 64) =>
  fallback(
    obj(doc, {
      cpuMilli: fallback(int('CPU request in thousandths; there is no CPU limit.', { min: 10, max: 64_000 }), cpuMilli),
      heapMiB: fallback(int('Bound of the JavaScript heap.', { min: 64, max: 65_536 }), heapMiB),
      otherMiB: fallback(
        int('Memory beside the heap: code, buffers and the files in /tmp. The memory limit is both together.', {
          min: 64,
          max: 65_536,
        }),
        otherMiB,
      ),
    }),
    {},
  )
