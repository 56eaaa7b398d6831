import { describeFileStore } from './file-store-suite.ts';

describeFileStore('local', () =>
  Promise.resolve({
    settings: {
      FILES_DRIVER: 'local',
      FILES_S3_BUCKET: '',
      FILES_S3_REGION: '',
      FILES_S3_ENDPOINT: '',
      FILES_S3_ACCESS_KEY_ID: '',
      FILES_S3_SECRET_ACCESS_KEY: '',
    },
    keys: () => [],
    close: () => Promise.resolve(),
  }),
);
