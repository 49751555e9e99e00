// Which names a signer gives to whom, beyond what every signer of Kubernetes checks. Who knows what the names mean says so by an option.
import type { SigningRequest } from '#lib/x509/read-request.ts'
import type { RequestUser } from './user.ts'

const BOOTSTRAPPERS = 'system:bootstrappers'

/** Why an identity may not get a client certificate in this name, whoever approved it; undefined when nothing stands against it. */
export type JudgeSubject = (asker: RequestUser, subject: SigningRequest) => string | undefined

/** A token to join with is not worth another identity: an approval alone would make it one. */
export const noBootstrappers: JudgeSubject = ({ groups }) =>
  groups.includes(BOOTSTRAPPERS) ? 'who has a bootstrap token gets no certificate of this signer' : undefined
