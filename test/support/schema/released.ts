// Reads the manifests of released versions: a newer one must not break their users, and upgrades their installations.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '#api/schema/object.ts'

const FOLDER = join(import.meta.dirname, '../../released')

export type ReleasedFile = '0.1.0/crds.yaml' | '0.1.0-dev/install.yaml'

export const releasedObjects = (file: ReleasedFile): readonly KubeObject[] =>
  parseAllDocuments(gunzipSync(readFileSync(join(FOLDER, `${file}.gz`))).toString('utf8')).map(
    (d) => d.toJS() as KubeObject,
  )
