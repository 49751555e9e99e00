// Which names a signer gives to which requesters, beyond the checks of every Kubernetes signer. An option supplies the rules for names of KubeNode.
import type { SigningRequest } from '#lib/x509/read-request.ts'
import type { RequestUser } from './user.ts'

const BOOTSTRAPPERS = 'system:bootstrappers'

/** Why an identity may not get a client certificate under this name, even when approved; undefined when it may. */
export type JudgeSubject = (asker: RequestUser, subject: SigningRequest) => string | undefined

/** A join token must not buy another identity: with an approval alone it could. */
export const noBootstrappers: JudgeSubject = ({ groups }) =>
  groups.includes(BOOTSTRAPPERS) ? 'who has a bootstrap token gets no certificate of this signer' : undefined
