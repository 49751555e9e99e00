// Certificates for tests: a CA, and server and client certificates from it, made in some milliseconds (ECDSA P-256).
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { defined } from '#lib/defined.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
const LOOPBACK = ['127.0.0.1', 'localhost']

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface CertificateAuthority extends Pair {
  server(names?: readonly string[]): Promise<Pair>
  client(user: string, groups?: readonly string[], until?: Date): Promise<Pair>
}

const pem = (label: string, der: ArrayBuffer): string =>
  `-----BEGIN ${label}-----\n${(
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  ).join('\n')}\n-----END ${label}-----\n`

const newKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
const keyPem = async (keys: Awaited<ReturnType<typeof newKeys>>) =>
  pem('PRIVATE KEY', await crypto.subtle.exportKey('pkcs8', keys.privateKey))

/** Valid from yesterday, so that clocks that differ a little do no harm. */
const validity = () => ({ notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 30 * DAY_MS) })

export async function newAuthority(name = 'test-ca'): Promise<CertificateAuthority> {
  const keys = await newKeys()
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=${name}`,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  })
  const issue = async (
    subject: string,
    usages: readonly string[],
    names: readonly string[],
    until?: Date,
  ): Promise<Pair> => {
    const own = await newKeys()
    const issued = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject,
      issuer: cert.subject,
      ...validity(),
      ...defined({ notAfter: until }),
      signingAlgorithm: ALGORITHM,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions: [
        new x509.ExtendedKeyUsageExtension([...usages]),
        ...(names.length === 0
          ? []
          : [
              new x509.SubjectAlternativeNameExtension(
                names.map((value) => ({ type: /^[0-9.:]+$/.test(value) ? 'ip' : 'dns', value })),
              ),
            ]),
      ],
    })
    return { cert: issued.toString('pem'), key: await keyPem(own) }
  }
  return {
    cert: cert.toString('pem'),
    key: await keyPem(keys),
    server: (names = LOOPBACK) => issue('CN=server', [x509.ExtendedKeyUsage.serverAuth], names),
    client: (user, groups = [], until) =>
      issue([...groups.map((g) => `O=${g}`), `CN=${user}`].join(', '), [x509.ExtendedKeyUsage.clientAuth], [], until),
  }
}

const serial = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex')
