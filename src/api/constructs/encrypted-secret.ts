// A Secret that is sops-encrypted in the repository. Fleet code names the file; sync decrypts it after the render, with a key that the code never gets.
import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { KubeNodeError } from '#lib/errors.ts'
import { apiErrors } from '../api-errors.ts'
import { SEALED_FILE, SEALED_SECRET } from '../names.ts'

export interface EncryptedSecretProps {
  /** Relative to the fleet's folder: `fleet/secrets/db.sops.yaml`. Name, namespace, type, labels and annotations come from the file. */
  readonly file: string
}

export class EncryptedSecret extends ApiObject {
  readonly #file: string

  constructor(scope: Construct, id: string, { file }: EncryptedSecretProps) {
    if (!SEALED_FILE.test(file) || !file.startsWith('fleet/'))
      throw new KubeNodeError(apiErrors.KN5013({ file: JSON.stringify(file) }))
    super(scope, id, { apiVersion: SEALED_SECRET.apiVersion, kind: SEALED_SECRET.kind })
    this.#file = file
  }

  override toJson(): unknown {
    return { ...SEALED_SECRET, file: this.#file }
  }
}
