// A Secret that the repository has only encrypted by sops. Code of a fleet names the file; sync opens it after the render, with a key that the code never sees.
import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { KubeNodeError } from '#lib/errors.ts'
import { apiErrors } from '../api-errors.ts'
import { SEALED_FILE, SEALED_SECRET } from '../names.ts'

export interface EncryptedSecretProps {
  /** From the folder of the fleet: `fleet/secrets/db.sops.yaml`. Name, namespace, type, labels and annotations are those of the file. */
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
