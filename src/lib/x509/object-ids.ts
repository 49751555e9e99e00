// Object identifiers used in certificates and signing requests, in DER hex.

export const ID = {
  commonName: '550403', // 2.5.4.3
  organization: '55040a', // 2.5.4.10
  ecdsaWithSha256: '2a8648ce3d040302', // 1.2.840.10045.4.3.2
  ecdsaWithSha384: '2a8648ce3d040303',
  ecdsaWithSha512: '2a8648ce3d040304',
  rsaWithSha256: '2a864886f70d01010b', // 1.2.840.113549.1.1.11
  rsaWithSha384: '2a864886f70d01010c',
  rsaWithSha512: '2a864886f70d01010d',
  ed25519: '2b6570', // 1.3.101.112
  extensionRequest: '2a864886f70d01090e', // 1.2.840.113549.1.9.14
  subjectKey: '551d0e', // 2.5.29.14
  keyUsage: '551d0f', // 2.5.29.15
  alternativeNames: '551d11', // 2.5.29.17
  basicConstraints: '551d13', // 2.5.29.19
  authorityKey: '551d23', // 2.5.29.35
  extendedUsage: '551d25', // 2.5.29.37
  serverAuth: '2b06010505070301', // 1.3.6.1.5.5.7.3.1
  clientAuth: '2b06010505070302', // 1.3.6.1.5.5.7.3.2
} as const
