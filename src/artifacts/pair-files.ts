// Certificate and key from files, such as a mounted Secret's, which may change at run time.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { artifactsErrors } from './artifacts-errors.ts'
import type { ServingPair } from './server.ts'

export interface PairFiles {
  readonly cert: string
  readonly key: string
}

/** Throws if the two do not match, as between two writes. */
export async function pairIn(files: PairFiles): Promise<ServingPair> {
  const read = (file: string) =>
    readFile(file, 'utf8').catch((error: unknown) => {
      throw wrong(file, messageOf(error))
    })
  const pair = { cert: await read(files.cert), key: await read(files.key) }
  const [certificate, key] = [
    of(files.cert, () => new X509Certificate(pair.cert)),
    of(files.key, () => createPrivateKey(pair.key)),
  ]
  if (!certificate.checkPrivateKey(key)) throw wrong(files.key, `it is not the key of ${files.cert}`)
  return pair
}

const wrong = (file: string, why: string): KubeNodeError =>
  new KubeNodeError(artifactsErrors.KN1329_artifacts({ file, why }), { retry: 'later' })

function of<T>(file: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw wrong(file, messageOf(error))
  }
}
